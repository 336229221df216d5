"""Where pods may run: what Kueue may assign (`kueue`), and where the scheduler then places the pods (`scheduler`).

Everything that decides about placement asks one of the two: lint, admit, workload, check and the simulator.
"""
