package hindmost.hadoop;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.nodemanager.util.NodeManagerHardwareUtils;
import org.apache.hadoop.yarn.util.ResourceCalculatorPlugin;

/**
 * Reports the primary tenant's load instead of the host's in the heartbeats of a node manager:
 * yarn.nodemanager.resource-calculator.class. Stock still reports the host's capacity. If the file cannot be read, the
 * tenant is reported to use all.
 */
public final class PrimaryTenantCalculator extends ResourceCalculatorPlugin {
  private static final long MEGABYTE = 1 << 20;
  /**
   * Used virtual memory in a report, in MB. No tenant uses it: it marks a complete report, since the fields of a report
   * are all 0 before the first one.
   */
  private static final int REPORT_MARK = 1;

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
      throw new IllegalArgumentException(
          Keys.UTILISATION_FILE + " is not set: name the file of the tenant's utilisation");
    }
  }

  private Utilisation used() {
    return Utilisation.readOrAll(pattern, host);
  }

  /** Return the cores that the tenant uses, out of those of the node manager: as configured, or as its hardware has. */
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
    return getVirtualMemorySize() - REPORT_MARK * MEGABYTE;
  }

  /** Return the utilisation that a node manager reported; without a report it counts as all. */
  static Utilisation reported(ResourceUtilization report, Resource whole) {
    if (report == null || report.getVirtualMemory() <= 0) {
      return Utilisation.ALL;
    }
    return new Utilisation((double) report.getCPU() / Math.max(1, whole.getVirtualCores()), report.getPhysicalMemory());
  }
}
