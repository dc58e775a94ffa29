package hindmost.hadoop;

/** What the plug-ins did, as JMX shows it: hindmost:type=Harvest, also at /jmx of the daemon. */
public interface HarvestMXBean {
  /** Replicas placed by the grid, by how far the rules had to give way. */
  long[] getPlacedByLevel();

  /** Choices left to stock placement: no tenants, no server that the rules allow. */
  long getFallbacks();

  /** Median time of the last 1,024 choices of all replicas of a block, in microseconds. */
  double getMedianChoiceMicros();

  long getChoices();

  /** Times that the file of tenants could not be read; the last good one is kept. */
  long getTenantsUnreadable();

  /** Age of the tenants in force; -1 where there are none. */
  double getTenantsAgeSeconds();

  /** Hosts of the cluster that the file of tenants does not have: they are placed and scheduled as by stock. */
  int getUnknownHosts();

  int getBusyHosts();

  int getHeardHosts();

  /** Age of what is known of the host that was heard of least lately, its age at sending with it. */
  double getStalenessMaxMillis();

  double getStalenessMedianMillis();

  long getDeniedReads();

  long getDeniedWrites();

  /** Accesses that waited for the primary tenant. */
  long getThrottled();

  /** Accesses that a busy data node served all the same, as only the order of replicas may keep clients away. */
  long getServedBusy();

  /** Orders of nodes that a resource manager made for containers; 0 while containers come: another policy is in force. */
  long getNodeOrders();

  /** What a busy data node of this JVM does: deny, throttle, reorder or observe. */
  String getData();

  /** Switches that live, until the daemon starts anew; other words are an IllegalArgumentException. */
  void setData(String way);
}
