package hindmost.tez;

import org.apache.hadoop.io.IntWritable;
import org.apache.tez.runtime.api.ProcessorContext;
import org.apache.tez.runtime.library.api.KeyValuesReader;
import org.apache.tez.runtime.library.processor.SimpleProcessor;

/** Counts all words. */
public final class Sums extends SimpleProcessor {
  public Sums(ProcessorContext context) {
    super(context);
  }

  @Override public void run() throws Exception {
    KeyValuesReader reader = (KeyValuesReader) getInputs().get("words").getReader();
    while (reader.next()) {
      for (Object count : reader.getCurrentValues()) {
        getContext().getCounters().findCounter("harvest", "sum").increment(((IntWritable) count).get());
      }
    }
    getContext().getCounters().findCounter("hosts", System.getenv("NM_HOST")).increment(1);
  }
}
