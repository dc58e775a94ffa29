package hindmost.hadoop;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.StandardMBean;
import org.slf4j.LoggerFactory;

/** Metrics of this JVM. */
public final class Metrics implements HarvestMXBean {
  private static final Metrics INSTANCE = new Metrics();

  public final LongAdder[] placed = new LongAdder[Placer.LEVELS];
  public final LongAdder fallbacks = new LongAdder();
  public final LongAdder tenantsUnreadable = new LongAdder();
  public final LongAdder deniedReads = new LongAdder();
  public final LongAdder deniedWrites = new LongAdder();
  public final LongAdder throttled = new LongAdder();
  public final LongAdder servedBusy = new LongAdder();
  final LongAdder nodeOrders = new LongAdder();
  private final AtomicLong choices = new AtomicLong();
  /** Durations of the last choices: a daemon's first ones are slow, and would bias a mean for ever. */
  private final AtomicLongArray choiceNanos = new AtomicLongArray(1024);
  private volatile long tenantsWritten = -1;
  volatile int unknownHosts;

  private Metrics() {
    Arrays.setAll(placed, at -> new LongAdder());
    try {
      ManagementFactory.getPlatformMBeanServer().registerMBean(new StandardMBean(this, HarvestMXBean.class, true),
          new ObjectName("hindmost:type=Harvest"));
    } catch (JMException error) {
      LoggerFactory.getLogger(Metrics.class).warn("the metrics are not available by JMX", error);
    }
  }

  public static Metrics get() {
    return INSTANCE;
  }

  void recordTenants(long written) {
    tenantsWritten = written;
  }

  @Override public long[] getPlacedByLevel() {
    return Arrays.stream(placed).mapToLong(LongAdder::sum).toArray();
  }

  @Override public long getFallbacks() {
    return fallbacks.sum();
  }

  /** Record the duration of a choice of all replicas of a block. */
  public void recordChoice(long nanos) {
    choiceNanos.set((int) (choices.getAndIncrement() % choiceNanos.length()), nanos);
  }

  @Override public double getMedianChoiceMicros() {
    int n = (int) Math.min(choices.get(), choiceNanos.length());
    long[] all = IntStream.range(0, n).mapToLong(choiceNanos::get).sorted().toArray();
    return n == 0 ? 0 : all[n / 2] / 1e3;
  }

  @Override public long getChoices() {
    return choices.get();
  }

  @Override public long getTenantsUnreadable() {
    return tenantsUnreadable.sum();
  }

  @Override public double getTenantsAgeSeconds() {
    return tenantsWritten < 0 ? -1 : (System.currentTimeMillis() - tenantsWritten) / 1e3;
  }

  @Override public int getUnknownHosts() {
    return unknownHosts;
  }

  @Override public int getBusyHosts() {
    return BusyBoard.get().busyHosts();
  }

  @Override public int getHeardHosts() {
    return BusyBoard.get().staleness().length;
  }

  @Override public double getStalenessMaxMillis() {
    return Arrays.stream(BusyBoard.get().staleness()).max().orElse(0);
  }

  @Override public double getStalenessMedianMillis() {
    double[] all = BusyBoard.get().staleness();
    Arrays.sort(all);
    return all.length == 0 ? 0 : all[all.length / 2];
  }

  @Override public long getDeniedReads() {
    return deniedReads.sum();
  }

  @Override public long getDeniedWrites() {
    return deniedWrites.sum();
  }

  @Override public long getThrottled() {
    return throttled.sum();
  }

  @Override public long getServedBusy() {
    return servedBusy.sum();
  }

  @Override public long getNodeOrders() {
    return nodeOrders.sum();
  }

  @Override public String getData() {
    return BusyDatasetFactory.mode();
  }

  @Override public void setData(String mode) {
    BusyDatasetFactory.setMode(mode);
  }
}
