"""The gateway's endpoints, one module per noun: each function builds a `Call` and touches nothing."""
