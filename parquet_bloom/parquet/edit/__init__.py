"""A new version of a Parquet file: which bytes stay, what is written behind them, and the proof."""
