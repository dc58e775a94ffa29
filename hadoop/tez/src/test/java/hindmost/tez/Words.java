package hindmost.tez;

import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.tez.runtime.api.ProcessorContext;
import org.apache.tez.runtime.library.api.KeyValueWriter;
import org.apache.tez.runtime.library.processor.SimpleProcessor;

/** Emits ten words, a thousand times in total. */
public final class Words extends SimpleProcessor {
  public Words(ProcessorContext context) {
    super(context);
  }

  @Override public void run() throws Exception {
    KeyValueWriter writer = (KeyValueWriter) getOutputs().get("sums").getWriter();
    for (int at = 0; at < TezMain.WORDS; at++) {
      writer.write(new Text("w" + at % 10), new IntWritable(1));
    }
    getContext().getCounters().findCounter("hosts", System.getenv("NM_HOST")).increment(1);
  }
}
