"""Evaluation: a policy plays an environment's tasks; out come rates with intervals, records and a report."""
