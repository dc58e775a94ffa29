package hindmost.hadoop;

/** Keys of the configuration, with their meanings and defaults. */
public final class Keys {
  private static final String PREFIX = "hindmost.harvest.";
  /** File of tenants and their servers, as hindmost harvest export writes it; empty: stock placement. */
  public static final String TENANTS_FILE = PREFIX + "tenants.file";
  /** Milliseconds between checks whether that file changed. */
  public static final String TENANTS_PERIOD = PREFIX + "tenants.period.ms";
  /** tenants: equal weights; space: weights by space. */
  public static final String WEIGH = PREFIX + "weigh";
  /** row: a repair keeps rows only; strict: columns, too. */
  public static final String REPAIR = PREFIX + "repair";
  /** Whether the diversity rules are relaxed when no other server is left. */
  public static final String SOFT = PREFIX + "soft";
  /** File with the primary tenant's utilisation, 0 to 1; %h is the host; empty: the whole host's, from /proc/stat. */
  public static final String UTILISATION_FILE = PREFIX + "utilisation.file";
  /** Utilisation of the primary tenant above which it needs its reserve. */
  public static final String BUSY_ABOVE = PREFIX + "busy.above";
  /** Milliseconds between measurements of the utilisation; each is reported to the name nodes. */
  public static final String BUSY_PERIOD = PREFIX + "busy.period.ms";
  /** Name nodes that receive reports of busy nodes: host:port, separated by commas (UDP). */
  public static final String BOARD_ADDRESSES = PREFIX + "board.addresses";
  /** UDP port at which a name node receives these reports. */
  public static final String BOARD_PORT = PREFIX + "board.port";
  /** File with the key that signs the reports; without it, a name node accepts only reports from its own host. */
  public static final String BOARD_SECRET = PREFIX + "board.secret.file";
  /** Milliseconds after which a report expires. */
  public static final String BOARD_STALE = PREFIX + "board.stale.ms";
  /** Mode of a busy data node: deny, throttle, reorder (the name node lists it last), or observe (only count). */
  public static final String DATA = PREFIX + "data";
  /** Longest time that a throttled access waits while the node is busy, in milliseconds. */
  public static final String THROTTLE = PREFIX + "throttle.ms";
  /**
   * Source of utilisation for the keeper of reserves: files, or heartbeats of node managers with
   * PrimaryTenantCalculator.
   */
  public static final String KEEPER_SOURCE = PREFIX + "keeper.source";
  /** File in which the keeper stores the size of each node; default: hindmost-keeper.nodes in hadoop.tmp.dir. */
  public static final String KEEPER_FILE = PREFIX + "keeper.file";
  /** Share of a node's cores and memory that batch work never gets. */
  public static final String RESERVE = PREFIX + "reserve";
  /** Milliseconds that containers have to exit when their node shrinks; 0: killed at once. */
  public static final String GRACE = PREFIX + "grace.ms";
  /** Folder of a control group for batch work, which runs only on idle CPU time (IdleExecutor). */
  public static final String CGROUP = PREFIX + "cgroup";
  /** Milliseconds between updates of the daemon that keeps reserves. */
  public static final String KEEPER_PERIOD = PREFIX + "keeper.period.ms";

  public static final int TENANTS_PERIOD_DEFAULT = 5000;
  public static final double RESERVE_DEFAULT = 1.0 / 3;
  public static final double BUSY_ABOVE_DEFAULT = 2.0 / 3;
  public static final int BUSY_PERIOD_DEFAULT = 1000;
  public static final int BOARD_PORT_DEFAULT = 9879;
  public static final int BOARD_STALE_DEFAULT = 10_000;

  private Keys() {}
}
