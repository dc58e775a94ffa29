package hindmost.hadoop;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.FsDatasetFactory;

/**
 * Denies accesses while the primary tenant needs its reserve: dfs.datanode.fsdataset.factory. The client tries the next
 * replica; no block is marked corrupt. Other modes: an access waits (throttle); only the name node acts, and lists the
 * node last and gives it no new replicas (reorder); accesses are only counted (observe).
 */
@SuppressWarnings("rawtypes")
public final class BusyDatasetFactory extends FsDatasetSpi.Factory<FsDatasetSpi<?>> {
  private static final Set<String> READS = Set.of("getBlockInputStream", "getTmpInputStreams");
  private static final Set<String> WRITES = Set.of("createRbw", "createTemporary", "append");
  /** The scanner treats any failure as a bad replica and would have it replaced. */
  private static final String SCANNER = "VolumeScannerThread";
  private static final int STEP_MILLIS = 20;
  private static final Set<String> MODES = Set.of("deny", "throttle", "reorder", "observe");
  private static volatile String mode = "deny";
  private static final AtomicBoolean CONFIGURED = new AtomicBoolean();

  static String mode() {
    return mode;
  }

  /** Whether name nodes learn that this node is busy: not in the mode that only observes. */
  static boolean reportsBusy() {
    return !mode.equals("observe");
  }

  static void setMode(String requested) {
    if (!MODES.contains(requested)) {
      throw new IllegalArgumentException(
          Keys.DATA + " is " + requested + ", but must be deny, throttle, reorder or observe");
    }
    mode = requested;
  }

  @Override public FsDatasetSpi<?> newInstance(DataNode node, DataStorage storage, Configuration conf)
      throws IOException {
    FsDatasetSpi stock = new FsDatasetFactory().newInstance(node, storage, conf);
    String host = node.getDatanodeHostname(); // the name by which name nodes know it
    BusyMonitor monitor = BusyMonitor.forHost(host, conf);
    if (CONFIGURED.compareAndSet(false, true)) { // a second data node of this JVM keeps a mode set by JMX
      setMode(conf.getTrimmed(Keys.DATA, "deny"));
    }
    int patience = conf.getInt(Keys.THROTTLE, 200);
    return (FsDatasetSpi<?>) Proxy.newProxyInstance(FsDatasetSpi.class.getClassLoader(),
        new Class<?>[] {FsDatasetSpi.class}, (proxy, method, arguments) -> {
          if (monitor.busy()) {
            whileBusy(method, monitor, host, patience);
          }
          try {
            return method.invoke(stock, arguments);
          } catch (InvocationTargetException error) {
            throw error.getCause();
          }
        });
  }

  private static void whileBusy(Method method, BusyMonitor monitor, String host, int patience)
      throws IOException, InterruptedException {
    boolean read = READS.contains(method.getName());
    if (!read && !WRITES.contains(method.getName()) || Thread.currentThread().getName().startsWith(SCANNER)) {
      return;
    }
    if (mode.equals("throttle")) {
      Metrics.get().throttled.increment();
      for (int waited = 0; waited < patience && monitor.busy(); waited += STEP_MILLIS) {
        Thread.sleep(STEP_MILLIS);
      }
      return;
    }
    if (mode.equals("reorder")) {
      Metrics.get().servedBusy.increment();
      return;
    }
    (read ? Metrics.get().deniedReads : Metrics.get().deniedWrites).increment();
    if (mode.equals("deny")) {
      throw new IOException("hindmost: " + host + "'s primary tenant needs its reserve: try another replica");
    }
  }
}
