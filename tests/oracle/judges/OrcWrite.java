import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.orc.OrcFile;
import org.apache.orc.TypeDescription;
import org.apache.orc.Writer;

/**
 * Writes what Spark does not: CHAR, VARCHAR, TIMESTAMP_INSTANT, with filters of ORC Java.
 *
 * Takes the output and a file of lines text, milliseconds.
 */
class OrcWrite {
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.set("orc.row.index.stride", "1000");
        conf.set("orc.bloom.filter.columns", "c,v,i");
        TypeDescription schema = TypeDescription.fromString(
            "struct<c:char(6),v:varchar(6),i:timestamp with local time zone>");
        List<String> lines = Files.readAllLines(Path.of(arguments[1]));
        try (Writer writer = OrcFile.createWriter(
                new org.apache.hadoop.fs.Path(arguments[0]), OrcFile.writerOptions(conf).setSchema(schema))) {
            VectorizedRowBatch batch = schema.createRowBatch(lines.size());
            for (String line : lines) {
                String[] cells = line.split("\t", -1);
                int row = batch.size++;
                byte[] text = cells[0].getBytes(StandardCharsets.UTF_8);
                ((BytesColumnVector) batch.cols[0]).setVal(row, text);
                ((BytesColumnVector) batch.cols[1]).setVal(row, text);
                TimestampColumnVector instants = (TimestampColumnVector) batch.cols[2];
                instants.setIsUTC(true);
                long millis = Long.parseLong(cells[1]);
                instants.time[row] = millis;
                instants.nanos[row] = (int) Math.floorMod(millis, 1000L) * 1_000_000;
            }
            writer.addRowBatch(batch);
        }
    }
}
