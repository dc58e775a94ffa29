package hindmost.hadoop;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.nodemanager.util.NodeManagerHardwareUtils;
import org.apache.hadoop.yarn.util.ResourceCalculatorPlugin;

/**
 * The primary tenant's load instead of the host's, in the heartbeats of a node manager: yarn.nodemanager.resource-calculator.class.
 * What the host has stays stock's answer. A file that cannot be read is reported as a tenant that uses all.
 */
public final class PrimaryTenantCalculator extends ResourceCalculatorPlugin {
  private static final long MEGABYTE = 1 << 20;
  /** Virtual memory is that of no tenant: it marks a report as one that was made. Those before the first are all 0. */
  private static final int MADE = 1;

  private String pattern;
  private String host;

  @Override public void setConf(Configuration conf) {
    super.setConf(conf);
    if (conf == null) {
      return;
    }
    host = conf.getTrimmed("yarn.nodemanager.hostname", "");
    try {
      host = host.isEmpty() || host.equals("0.0.0.0") ? InetAddress.getLocalHost().getHostName() : host;
    } catch (UnknownHostException error) {
      throw new IllegalArgumentException("this host has no name: set yarn.nodemanager.hostname", error);
    }
    pattern = conf.getTrimmed(Keys.UTILISATION_FILE, "");
    if (pattern.isEmpty()) {
      throw new IllegalArgumentException(Keys.UTILISATION_FILE + " is not set: where is the tenant's utilisation?");
    }
  }

  private Utilisation used() {
    return Utilisation.orAll(pattern, host);
  }

  /** Cores that the tenant uses, of those that the node manager has: as configured, or as its hardware has. */
  @Override public float getNumVCoresUsed() {
    return (float) (used().cores * NodeManagerHardwareUtils.getVCores(this, getConf()));
  }

  @Override public float getCpuUsagePercentage() {
    return (float) (100 * used().cores);
  }

  @Override public long getAvailablePhysicalMemorySize() {
    double used = used().megabytes * MEGABYTE;
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
