"""Conversions between values, their text and the bytes that are hashed."""
