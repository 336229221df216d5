"""A stack as a document: its capacity, machines, teams and problems, for `berth plan` and the report."""
