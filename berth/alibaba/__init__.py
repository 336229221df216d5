"""Arguments and options of the resources in Alibaba Cloud, one function for each."""
