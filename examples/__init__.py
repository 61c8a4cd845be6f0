"""Example systems, tasks and models that the demo and the tests run against."""
