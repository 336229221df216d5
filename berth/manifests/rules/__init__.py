"""CEL expressions of the admission policies for jobs and for run durations."""
