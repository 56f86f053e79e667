"""Fixtures: other implementations, compiled and started once in a run; what is missing is said."""

import pytest
from conftest import missing
from oracle.arrow_cpp import ArrowCpp
from oracle.engines import DataFusion, DuckDB
from oracle.parquet_java import ParquetJava


@pytest.fixture(scope="session")
def parquet_java(tmp_path_factory: pytest.TempPathFactory) -> ParquetJava:
    if not ParquetJava.is_here():
        missing(ParquetJava.needs)
    return ParquetJava(tmp_path_factory.mktemp("parquet_java"))


@pytest.fixture(scope="session")
def arrow_cpp(tmp_path_factory: pytest.TempPathFactory) -> ArrowCpp:
    if not ArrowCpp.is_here():
        missing(ArrowCpp.needs)
    return ArrowCpp(tmp_path_factory.mktemp("arrow_cpp"))


@pytest.fixture(scope="session")
def duckdb() -> DuckDB:
    if not DuckDB.is_here():
        missing(DuckDB.needs)
    return DuckDB()


@pytest.fixture(scope="session")
def datafusion() -> DataFusion:
    if not DataFusion.is_here():
        missing(DataFusion.needs)
    return DataFusion()
