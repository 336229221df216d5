"""Arguments and options of the resources in Google Cloud, one function for each."""
