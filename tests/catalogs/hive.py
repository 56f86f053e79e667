"""The metastore of Hive that lies in PySpark's own jars, with a database in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
from make.servers import started

TITLE = f"Hive Metastore of PySpark {pyspark.__version__}"

_SETTINGS = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    # PySpark has no library for it.
    "datanucleus.connectionPoolingType": "none",
    # Logging of its own kind takes a library that PySpark has not.
    "hive.async.log.enabled": "false",
}
# The tables of locks are made by nothing that Hive starts by itself, unless it is in a test of its own.
_PROGRAM = """\
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;

public class Metastore {
    public static void main(String[] arguments) throws Throwable {
        TxnDbUtil.prepDb(new HiveConf());
        HiveMetaStore.main(arguments);
    }
}
"""
_PROPERTY = "<property><name>{}</name><value>{}</value></property>"


@contextmanager
def running(folder: Path) -> Iterator[Mapping[str, str]]:
    """PyIceberg's settings of the catalog, whose tables are below the folder."""
    settings = _SETTINGS | {"hive.metastore.warehouse.dir": f"file://{folder}/hive"}
    properties = "".join(_PROPERTY.format(*each) for each in settings.items())
    (folder / "hive-site.xml").write_text(f"<configuration>{properties}</configuration>")
    jars = Path(pyspark.__file__).parent / "jars"
    program = folder / "Metastore.java"
    program.write_text(_PROGRAM)
    options = [f"-Djava.io.tmpdir={folder}", "-cp", f"{folder}:{jars}/*"]
    command = ["java", *options, str(program), "-p"]
    with started(lambda port: [*command, str(port)], log=folder / "log") as port:
        yield {
            "type": "hive",
            "uri": f"thrift://127.0.0.1:{port}",
            "warehouse": f"file://{folder}/warehouse",
        }
