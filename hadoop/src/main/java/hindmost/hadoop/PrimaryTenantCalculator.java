package hindmost.hadoop;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.util.ResourceCalculatorPlugin;

/**
 * The primary tenant's load instead of the host's, in the heartbeats of a node manager: yarn.nodemanager.resource-calculator.class.
 * What the host has stays stock's answer. A file that cannot be read is reported as a tenant that uses all.
 */
public final class PrimaryTenantCalculator extends ResourceCalculatorPlugin {
  private static final long MEGABYTE = 1 << 20;
  /** Virtual memory is that of no tenant: it marks a report as one that was made. Those before the first are all 0. */
  private static final int MADE = 1;

  private Path file;
  private int cores;

  @Override public void setConf(Configuration conf) {
    super.setConf(conf);
    if (conf == null) {
      return;
    }
    String host = conf.getTrimmed("yarn.nodemanager.hostname", "");
    try {
      host = host.isEmpty() || host.equals("0.0.0.0") ? InetAddress.getLocalHost().getHostName() : host;
    } catch (UnknownHostException error) {
      throw new IllegalArgumentException("this host has no name: set yarn.nodemanager.hostname", error);
    }
    String name = conf.getTrimmed(Keys.UTILISATION_FILE, "");
    if (name.isEmpty()) {
      throw new IllegalArgumentException(Keys.UTILISATION_FILE + " is not set: where is the tenant's utilisation?");
    }
    file = Path.of(name.replace("%h", host));
    cores = conf.getInt("yarn.nodemanager.resource.cpu-vcores", 8);
  }

  /** Cores that the tenant uses, of those that the node manager has. */
  @Override public float getNumVCoresUsed() {
    return (float) (Utilisation.orAll(file).cores * cores);
  }

  @Override public float getCpuUsagePercentage() {
    return (float) (100 * Utilisation.orAll(file).cores);
  }

  @Override public long getAvailablePhysicalMemorySize() {
    double used = Utilisation.orAll(file).megabytes * MEGABYTE;
    return (long) Math.max(0, getPhysicalMemorySize() - used);
  }

  @Override public long getAvailableVirtualMemorySize() {
    return getVirtualMemorySize() - MADE * MEGABYTE;
  }

  /** What a node manager said of a node that has so much; nothing yet, or no word at all, is all of it. */
  static Utilisation reported(ResourceUtilization said, Resource whole) {
    if (said == null || said.getVirtualMemory() <= 0) {
      return Utilisation.ALL;
    }
    return new Utilisation((double) said.getCPU() / Math.max(1, whole.getVirtualCores()), said.getPhysicalMemory());
  }
}
