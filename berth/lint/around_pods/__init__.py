"""What pods need besides quota and nodes: grants, drivers, devices, and room for an update."""
