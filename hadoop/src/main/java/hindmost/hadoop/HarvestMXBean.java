package hindmost.hadoop;

/** Metrics of the plug-ins by JMX: hindmost:type=Harvest, also at /jmx of the daemon. */
public interface HarvestMXBean {
  /** Replicas placed by the grid, by the level to which the rules were relaxed. */
  long[] getPlacedByLevel();

  /** Choices left to stock placement, because no tenants are loaded or no server satisfies the rules. */
  long getFallbacks();

  /** Median duration of the last 1,024 choices of all replicas of a block, in microseconds. */
  double getMedianChoiceMicros();

  long getChoices();

  /** Failed attempts to read the file of tenants; the last good one is kept. */
  long getTenantsUnreadable();

  /** Age of the tenants in force; -1 if there are none. */
  double getTenantsAgeSeconds();

  /** Hosts of the cluster that are not in the file of tenants: stock places and schedules them. */
  int getUnknownHosts();

  int getBusyHosts();

  int getHeardHosts();

  /** Age of the oldest report, including its age when it was sent. */
  double getStalenessMaxMillis();

  double getStalenessMedianMillis();

  long getDeniedReads();

  long getDeniedWrites();

  /** Accesses delayed until the primary tenant needed less. */
  long getThrottled();

  /** Accesses that a busy data node served because only the order of replicas keeps clients away. */
  long getServedBusy();

  /** Node orders that a resource manager made for containers; if this stays 0, another policy is in force. */
  long getNodeOrders();

  /** Mode of the data nodes in this JVM: deny, throttle, reorder or observe. */
  String getData();

  /** Set the mode until the daemon restarts; any other word is an IllegalArgumentException. */
  void setData(String mode);
}
