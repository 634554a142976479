"""Prediction of the time and memory that cells need."""
