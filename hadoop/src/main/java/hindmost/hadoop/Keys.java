package hindmost.hadoop;

/** Keys of the configuration, and what holds without them. */
public final class Keys {
  private static final String PREFIX = "hindmost.harvest.";
  /** Tenants and their servers, as hindmost harvest export writes them; empty: stock placement. */
  public static final String TENANTS_FILE = PREFIX + "tenants.file";
  /** Milliseconds between looks whether that file changed. */
  public static final String TENANTS_PERIOD = PREFIX + "tenants.period.ms";
  /** tenants: all alike; space: by space. */
  public static final String WEIGH = PREFIX + "weigh";
  /** row: a repair keeps the row alone; strict: the column, too. */
  public static final String REPAIR = PREFIX + "repair";
  /** Whether diversity gives way where no other server is left. */
  public static final String SOFT = PREFIX + "soft";
  /** A file with the primary tenant's utilisation, 0 to 1; %h is the host; empty: all of the host, from /proc/stat. */
  public static final String UTILISATION_FILE = PREFIX + "utilisation.file";
  /** Utilisation of the primary tenant above which its reserve is touched. */
  public static final String BUSY_ABOVE = PREFIX + "busy.above";
  /** Milliseconds between looks at the utilisation, each told to the name nodes. */
  public static final String BUSY_PERIOD = PREFIX + "busy.period.ms";
  /** Name nodes that are told who is busy: host:port, by commas (UDP). */
  public static final String BOARD_ADDRESSES = PREFIX + "board.addresses";
  /** UDP port at which a name node hears who is busy. */
  public static final String BOARD_PORT = PREFIX + "board.port";
  /** File with the key that signs what data nodes say; without it, a name node hears its own host alone. */
  public static final String BOARD_SECRET = PREFIX + "board.secret.file";
  /** Milliseconds after which what was heard no longer counts. */
  public static final String BOARD_STALE = PREFIX + "board.stale.ms";
  /** What a busy data node does: deny, throttle, reorder (the name node lists it last), or observe (nothing but count). */
  public static final String DATA = PREFIX + "data";
  /** Milliseconds that a throttled access waits at most for the primary tenant to calm down. */
  public static final String THROTTLE = PREFIX + "throttle.ms";
  /** Where the keeper of reserves finds utilisation: files, or heartbeats of node managers with PrimaryTenantCalculator. */
  public static final String KEEPER_SOURCE = PREFIX + "keeper.source";
  /** File in which the keeper of reserves keeps what each node has; default: hindmost-keeper.nodes in hadoop.tmp.dir. */
  public static final String KEEPER_FILE = PREFIX + "keeper.file";
  /** Share of a node's cores and memory that batch work never gets. */
  public static final String RESERVE = PREFIX + "reserve";
  /** Milliseconds that containers have to go when their node shrinks; 0: killed at once. */
  public static final String GRACE = PREFIX + "grace.ms";
  /** Folder of a control group for batch work, which has the processor while nobody else wants it (IdleExecutor). */
  public static final String CGROUP = PREFIX + "cgroup";
  /** Milliseconds between rounds of the daemon that keeps reserves. */
  public static final String KEEPER_PERIOD = PREFIX + "keeper.period.ms";

  public static final int TENANTS_PERIOD_DEFAULT = 5000;
  public static final double RESERVE_DEFAULT = 1.0 / 3;
  public static final double BUSY_ABOVE_DEFAULT = 2.0 / 3;
  public static final int BUSY_PERIOD_DEFAULT = 1000;
  public static final int BOARD_PORT_DEFAULT = 9879;
  public static final int BOARD_STALE_DEFAULT = 10_000;

  private Keys() {}
}
