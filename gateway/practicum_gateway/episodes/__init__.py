"""Episodes: begun, driven turn by turn and call by call, ended; and the trajectories they leave."""
