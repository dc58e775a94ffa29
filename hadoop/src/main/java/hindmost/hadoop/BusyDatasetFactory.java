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
 * Denies data while the primary tenant needs its reserve: dfs.datanode.fsdataset.factory. The client tries the next
 * replica; nothing is marked corrupt. Other ways: an access waits (throttle); the name node alone acts, by listing the
 * node last and giving it no new replicas (reorder); nobody acts, what would be denied is counted (observe).
 */
@SuppressWarnings("rawtypes")
public final class BusyDatasetFactory extends FsDatasetSpi.Factory<FsDatasetSpi<?>> {
  private static final Set<String> READS = Set.of("getBlockInputStream", "getTmpInputStreams");
  private static final Set<String> WRITES = Set.of("createRbw", "createTemporary", "append");
  /** The scanner takes any failure for a bad replica and would have it replaced. */
  private static final String SCANNER = "VolumeScannerThread";
  private static final int STEP_MILLIS = 20;
  private static final Set<String> WAYS = Set.of("deny", "throttle", "reorder", "observe");
  private static volatile String way = "deny";
  private static final AtomicBoolean BEGUN = new AtomicBoolean();

  static String way() {
    return way;
  }

  /** Whether name nodes hear that a node is busy: who only looks changes nothing. */
  static boolean tells() {
    return !way.equals("observe");
  }

  static void setWay(String asked) {
    if (!WAYS.contains(asked)) {
      throw new IllegalArgumentException(Keys.DATA + " is " + asked + ": it may be deny, throttle, reorder or observe");
    }
    way = asked;
  }

  @Override public FsDatasetSpi<?> newInstance(DataNode node, DataStorage storage, Configuration conf)
      throws IOException {
    FsDatasetSpi stock = new FsDatasetFactory().newInstance(node, storage, conf);
    String host = node.getDatanodeHostname(); // as name nodes know it
    BusyMonitor monitor = BusyMonitor.of(host, conf);
    if (BEGUN.compareAndSet(false, true)) { // what was switched live outlives another data node of this JVM
      setWay(conf.getTrimmed(Keys.DATA, "deny"));
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
    if (way.equals("throttle")) {
      Metrics.get().throttled.increment();
      for (int waited = 0; waited < patience && monitor.busy(); waited += STEP_MILLIS) {
        Thread.sleep(STEP_MILLIS);
      }
      return;
    }
    if (way.equals("reorder")) {
      Metrics.get().servedBusy.increment();
      return;
    }
    (read ? Metrics.get().deniedReads : Metrics.get().deniedWrites).increment();
    if (way.equals("deny")) {
      throw new IOException("hindmost: " + host + "'s primary tenant needs its reserve: try another replica");
    }
  }
}
