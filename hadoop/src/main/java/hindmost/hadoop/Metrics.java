package hindmost.hadoop;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.StandardMBean;
import org.slf4j.LoggerFactory;

/** Counters of this JVM. */
public final class Metrics implements HarvestMXBean {
  private static final Metrics ONLY = new Metrics();

  public final LongAdder[] placed = new LongAdder[Placer.LEVELS];
  public final LongAdder fallbacks = new LongAdder();
  public final LongAdder choices = new LongAdder();
  public final LongAdder choiceNanos = new LongAdder();
  public final LongAdder tenantsUnreadable = new LongAdder();
  public final LongAdder deniedReads = new LongAdder();
  public final LongAdder deniedWrites = new LongAdder();
  public final LongAdder throttled = new LongAdder();
  private volatile long tenantsWritten = -1;

  private Metrics() {
    Arrays.setAll(placed, at -> new LongAdder());
    try {
      ManagementFactory.getPlatformMBeanServer().registerMBean(new StandardMBean(this, HarvestMXBean.class, true),
          new ObjectName("hindmost:type=Harvest"));
    } catch (JMException error) {
      LoggerFactory.getLogger(Metrics.class).warn("no metrics by JMX", error);
    }
  }

  public static Metrics get() {
    return ONLY;
  }

  void tenantsRead(long written) {
    tenantsWritten = written;
  }

  @Override public long[] getPlacedByLevel() {
    return Arrays.stream(placed).mapToLong(LongAdder::sum).toArray();
  }

  @Override public long getFallbacks() {
    return fallbacks.sum();
  }

  @Override public double getMeanChoiceMicros() {
    return choiceNanos.sum() / 1e3 / Math.max(1, choices.sum());
  }

  @Override public long getChoices() {
    return choices.sum();
  }

  @Override public long getTenantsUnreadable() {
    return tenantsUnreadable.sum();
  }

  @Override public double getTenantsAgeSeconds() {
    return tenantsWritten < 0 ? -1 : (System.currentTimeMillis() - tenantsWritten) / 1e3;
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
}
