# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
BIN := .venv/bin
# A plain path in the environment, as an ordinary install has, instead of an import hook.
EDITABLE := --config-settings editable_mode=compat
# Without a kernel for one version of Python, as once was compiled: it would be imported instead of the new one.
INSTALL = rm -f parquet_bloom/native/_kernel.cpython-*.so && $(BIN)/python -m pip install -q $(EDITABLE) -e
SOURCES := pyproject.toml setup.py $(wildcard parquet_bloom/native/*.c parquet_bloom/native/*.h parquet_bloom/native/*.px?)

.DELETE_ON_ERROR:
.PHONY: demo test long cluster asan fuzz random sequences damage clocks faults races memory lint bench bench-large bench-growth bench-wheel docs pictures examples site thrift proto clean writers engines stores layouts readers recipes catalogs spark-matrix conformance wheel pythons lowest release-check

# Install, make a million rows, build a filter, look at it, ask it.
demo: .venv/installed
	@$(BIN)/python -m benchmarks.demo

# A test that hangs ends its process, with what every thread was doing, and fails; the longest takes a minute.
NO_HANGS := -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true --max-worker-restart 0

# Two processes share the files of the suite: more would want a JVM each, and memory for it.
test: .venv/spark.jsa
	$(BIN)/python -m pytest -q -n 2 --dist loadfile $(NO_HANGS)

# All tests, and all that `test` does in a short form, at length: about an hour.
long: .venv/spark.jsa
	PBLOOM_LONG=1 PBLOOM_CLUSTER=full PBLOOM_LAYOUTS=full PBLOOM_ZONES=all PBLOOM_READ_LAKES=112 \
	PBLOOM_VARIANT_QUERIES=2000 \
	$(BIN)/python -m pytest -q -n 2 --dist loadfile $(NO_HANGS)

# Spark at length, not the part that `test` has: a cluster on which things go wrong, Connect, every
# way to encrypt a table.
cluster: .venv/spark.jsa
	PBLOOM_CLUSTER=full $(BIN)/python -m pytest -q -m cluster

# What other readers make of every file of fixtures/ in every layout; `test` has each in one of them.
layouts: .venv/spark.jsa
	PBLOOM_LAYOUTS=full $(BIN)/python -m pytest -q tests/parquet/test_interop.py

# The kernel with the address and undefined-behaviour sanitizers, under the tests of bytes.
asan: .venv/dev
	$(BIN)/python tests/fuzz/sanitized.py

# Every parser, for FUZZ_SECONDS each, guided by the lines that an input reaches. `test` has a short form.
FUZZ_SECONDS ?= 100
fuzz: .venv/fuzz
	PYTHONPATH=tests $(BIN)/python tests/fuzz/campaign.py $(FUZZ_SECONDS)

# Random files of both formats: the bits that the specification wants. `test` has some of them.
random: .venv/dev
	PBLOOM_RANDOM_FILES=3000 $(BIN)/python -m pytest -q -n 2 tests/verbs/test_random_files.py

# One file changed again and again, in every way, and stripped in the end. `test` has some of them.
SEQUENCES ?= 10000
sequences: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/fuzz/sequences.py $(SEQUENCES)

# ORC files with a few other bytes, so many for each of six commands; ORC C++ is the judge.
FILES ?= 10000
damage: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/fuzz/damaged_orc.py $(FILES)

# Timestamps in ORC, in every time zone that ORC Java knows. `test` has some of them.
clocks: .venv/spark.jsa
	PBLOOM_ZONES=all $(BIN)/python -m pytest -q tests/orc/test_orc_clocks.py

# Each verb that writes, killed or failing at every system call; needs strace. `test` has a short form.
faults: .venv/installed
	PYTHONPATH=tests $(BIN)/python tests/fuzz/faults.py

# Tables that others change between any two of our steps, and every interleaving of two of ours and a stranger:
# into docs/reliability.md. `test` has a short form of both.
races: .venv/dev
	PBLOOM_RACES=200 $(BIN)/python -m pytest -q tests/tables/test_delta_races.py tests/tables/test_iceberg_races.py
	PYTHONPATH=tests $(BIN)/python tests/interleavings/run.py

# What every verb takes at most, on every file that would make it take much: into docs/reliability.md.
memory: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/fuzz/memory.py

# Look up every value in files of many writers, each in an environment of its own: many downloads; and judge the filters
# that engines write. WRITERS, ENGINES: only some of them.
writers: .venv/dev
	$(BIN)/python tests/writers/run.py $(WRITERS)
	PYTHONPATH=tests $(BIN)/python tests/engines/run.py write $(ENGINES)

# Which engines use filters, and which lose rows; ENGINES="duckdb datafusion==55.0.0" for some of them.
# Installs what is not there yet, into .engines; needs Java, Node and npm. docs/engines.md shows what was found.
engines: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/engines/run.py read $(ENGINES)

# The suite for other engines as one archive, of the same bytes everywhere.
conformance: .venv/installed
	mkdir -p build
	$(BIN)/python -c "import sys; from parquet_bloom.conformance.suite import archive; sys.stdout.buffer.write(archive())" > build/parquet-bloom-conformance-1.0.tar.gz

# Every verb on object stores that others emulate, and what becomes of objects that others write meanwhile;
# STORES="azurite" for some of them. Installs what is not there yet, into .stores; needs Node and npm.
stores: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/stores/run.py $(STORES)

# Iceberg tables in catalogs of others: Hive's metastore, and Glue with S3; CATALOGS="hive" for one of them.
# Needs a JDK.
catalogs: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/catalogs/run.py $(CATALOGS)

# Readers of tables, asked for every version before and after all that pbloom does; READERS="polars chdb"
# for some of them. Installs what is not there yet, into .readers; docs/tables.md shows what was found.
readers: .venv/dev
	PYTHONPATH=tests:parquet_bloom/conformance/adapters $(BIN)/python tests/readers/run.py $(READERS)

# The recipes of docs/reading.md whose libraries want an environment of their own, in .recipes; RECIPES="daft" for one
# of them. `test` has the others.
recipes: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/recipes/run.py $(RECIPES)

# All of parquet_bloom.spark with Spark 3.5 to the newest, classic and Connect, and with each Python that is
# here; SPARKS="3.5 4.0" for some of them. Installs what is not there yet, into .sparks; needs Java.
# docs/spark.md shows what was found.
spark-matrix: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/spark_versions/run.py $(SPARKS)

# What is released, into dist/: an sdist that is the same each time, and from it wheels for x86-64 and aarch64, for
# glibc and musl. Each is looked at, and its kernel runs: here without a compiler, elsewhere emulated. Twelve minutes, and
# downloads into .release; needs QEMU and Debian's apt for the last.
wheel: .release/installed
	.release/bin/python release/make_wheels.py
	.release/bin/python release/check_wheels.py

# The tests without Spark on every Python, those that are not here from Debian; PYTHONS="3.12 3.13" for some of them.
pythons: .venv/installed .release/installed
	.release/bin/python release/environments.py $(PYTHONS)

# The same with the oldest packages that pyproject.toml allows.
lowest: .venv/installed .release/installed
	.release/bin/python release/environments.py lowest

# Whether this commit can be released: archives, versions, generated pages, sizes, licences; and calls nothing that macOS
# has not. A quarter of an hour.
release-check: .venv/dev wheel docs
	$(BIN)/mypy --platform darwin parquet_bloom
	$(BIN)/python release/ready.py

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/dev
	$(BIN)/python -m benchmarks.bench

# Rewrites of a file of 2.5 GB, and three ways to add filters to one of 10 GB in its place, which takes twice as
# much: some minutes.
bench-large: .venv/dev
	$(BIN)/python -m benchmarks.compare_in_place

# Every verb on files with more and more of everything: 70 GB, and half an hour.
bench-growth: .venv/dev
	$(BIN)/python -m benchmarks.growth

# The wheel of this machine against what is compiled here, after `make wheel`.
bench-wheel: .venv/dev
	$(BIN)/python -m benchmarks.compare_wheel

# Write docs/rules.md from the rules in parquet_bloom/rules/catalogue, docs/options.md from the commands,
# docs/engines.md from parquet_bloom/engines/catalogue and tests/engines/results, docs/why-not-skipped.md from
# the former, and what commands print into the pages that show it.
docs: .venv/dev
	$(BIN)/pbloom rule --markdown > docs/rules.md
	$(BIN)/python docs/options.py > docs/options.md
	$(BIN)/python docs/schemas.py
	$(BIN)/python docs/engines.py > docs/engines.md
	$(BIN)/python docs/conformance.py
	$(BIN)/python docs/why_not_skipped.py > docs/why-not-skipped.md
	$(BIN)/python docs/man.py share
	PYTHONPATH=tests $(BIN)/python -m make.shown

# The pictures of README.md and docs/, one of which shows what commands print.
pictures: .venv/installed
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/terminal.py

# What the cells of the notebooks in docs/examples show; one of them needs Java.
examples: .venv/dev
	PYTHONPATH=tests $(BIN)/python -m make.notebooks

# The site that docs/ is, in build/site: no warnings, every link leads somewhere, every page looked at by Chromium.
site: .venv/docs
	$(BIN)/python -m sphinx -q -W --keep-going -E -d build/doctrees docs build/site
	PYTHONPATH=tests $(BIN)/python tests/site/look.py build/site

# Regenerate parquet_bloom/parquet/thrift from thrift/parquet.thrift (needs the thrift compiler).
thrift:
	dir=$$(mktemp -d) && thrift -strict --gen py:slots -out $$dir thrift/parquet.thrift && cp $$dir/parquet_bloom/parquet/thrift/*.py parquet_bloom/parquet/thrift/ && rm -r $$dir

# Regenerate parquet_bloom/orc/proto/definition.py from orc.proto (needs protoc).
proto:
	dir=$$(mktemp -d) && protoc -I . --python_out=$$dir parquet_bloom/orc/proto/orc.proto && sed -n "s/.*AddSerializedFile(\(b'.*'\))$$/SERIALIZED = \1/p" $$dir/parquet_bloom/orc/proto/orc_pb2.py > parquet_bloom/orc/proto/definition.py && rm -r $$dir

clean:
	rm -rf .venv build demo *.egg-info parquet_bloom/native/*.so parquet_bloom/native/_kernel.c

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python $(SOURCES)
	$(INSTALL) '.[all]'
	@touch $@

.venv/dev: .venv/bin/python $(SOURCES)
	$(INSTALL) '.[dev]'
	@touch $@ .venv/installed

# The classes of Spark, with which the JVMs of the tests start in half the time; none without Java.
.venv/spark.jsa: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/make/spark_archive.py

.venv/docs: .venv/dev
	$(INSTALL) '.[docs]'
	@touch $@

.release/installed: release/requirements.txt
	$(PYTHON) -m venv .release
	.release/bin/python -m pip install -q -r $<
	@touch $@

.venv/fuzz: .venv/bin/python $(SOURCES)
	$(INSTALL) '.[fuzz]'
	@touch $@ .venv/installed
