"""Datasets: chosen trajectories as a folder of rows, with a manifest and a card."""

from practicum.datasets.build import Format, build
from practicum.datasets.card import card_of
from practicum.datasets.read import Dataset
from practicum.datasets.where import Condition, Where, parse_where

__all__ = ["Condition", "Dataset", "Format", "Where", "build", "card_of", "parse_where"]
