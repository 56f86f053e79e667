import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;
import java.util.TimeZone;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.io.sarg.PredicateLeaf;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgument;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgumentFactory;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.RecordReader;
import org.apache.orc.TypeDescription;
import org.apache.orc.Writer;

/**
 * Writes timestamps in any time zone, and looks all of them up.
 *
 * write FOLDER ZONES MILLIS: for line i of the file ZONES, instants of the file MILLIS into i-plain.orc, and with
 * filters of ORC Java into i-own.orc; answers each with i and the clock that ORC Java shows, in milliseconds.
 * search FOLDER ZONES NAME: looks up in i-NAME.orc whatever i-plain.orc has, in that zone; answers i, how many values
 * were looked up, and how many of them are lost.
 */
class OrcZones {
    private static final Configuration CONFIGURATION = new Configuration();
    private static final TypeDescription SCHEMA = TypeDescription.fromString("struct<t:timestamp>");

    public static void main(String[] arguments) throws Exception {
        List<String> zones = Files.readAllLines(Path.of(arguments[2]));
        for (int i = 0; i < zones.size(); i++) {
            TimeZone.setDefault(TimeZone.getTimeZone(zones.get(i)));
            String file = arguments[1] + "/" + i + "-";
            if (arguments[0].equals("write")) {
                List<String> millis = Files.readAllLines(Path.of(arguments[3]));
                write(file + "plain.orc", millis, false);
                write(file + "own.orc", millis, true);
                for (Timestamp shown : read(file + "plain.orc", null))
                    System.out.println(i + "\t" + (shown.getTime() + TimeZone.getDefault().getOffset(shown.getTime())));
            } else search(i, file + "plain.orc", file + arguments[3] + ".orc");
        }
    }

    private static void write(String path, List<String> millis, boolean hasFilters) throws Exception {
        Configuration conf = new Configuration(CONFIGURATION);
        conf.set("orc.row.index.stride", "1000");
        if (hasFilters) conf.set("orc.bloom.filter.columns", "t");
        conf.set("orc.bloom.filter.fpp", "0.0001");
        try (Writer writer = OrcFile.createWriter(
                new org.apache.hadoop.fs.Path(path), OrcFile.writerOptions(conf).setSchema(SCHEMA))) {
            VectorizedRowBatch batch = SCHEMA.createRowBatch(millis.size());
            for (String each : millis) ((TimestampColumnVector) batch.cols[0]).set(batch.size++, new Timestamp(Long.parseLong(each)));
            writer.addRowBatch(batch);
        }
    }

    private static void search(int zone, String plain, String path) throws Exception {
        List<Timestamp> values = read(plain, null);
        int lost = 0;
        for (Timestamp value : values) if (!read(path, value).contains(value)) lost++;
        System.out.println(zone + "\t" + values.size() + "\t" + lost);
    }

    /** All values, or those of the index groups that may have `wanted`. */
    private static List<Timestamp> read(String path, Timestamp wanted) throws Exception {
        Reader reader = OrcFile.createReader(
            new org.apache.hadoop.fs.Path(path), OrcFile.readerOptions(CONFIGURATION));
        Reader.Options options = reader.options();
        if (wanted != null) {
            SearchArgument search = SearchArgumentFactory.newBuilder()
                .startAnd().equals("t", PredicateLeaf.Type.TIMESTAMP, wanted).end().build();
            options.searchArgument(search, new String[] {"t"}).useSelected(false).allowSARGToFilter(false);
        }
        List<Timestamp> found = new ArrayList<>();
        try (RecordReader rows = reader.rows(options)) {
            VectorizedRowBatch batch = reader.getSchema().createRowBatch();
            while (rows.nextBatch(batch))
                for (int row = 0; row < batch.size; row++) {
                    Timestamp value = new Timestamp(0);
                    value.setTime(((TimestampColumnVector) batch.cols[0]).time[row]);
                    value.setNanos(((TimestampColumnVector) batch.cols[0]).nanos[row]);
                    found.add(value);
                }
        }
        return found;
    }
}
