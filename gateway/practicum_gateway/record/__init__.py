"""The record: what happened in each episode, appended and never changed."""
