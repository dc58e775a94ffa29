package hindmost.hadoop;

/** A primary tenant, for placement and scheduling. */
public final class Tenant {
  public final String name;
  /** Tenants of one environment are likely to be re-deployed together. */
  public final int environment;
  /** Reimages per server and month. */
  public final double reimages;
  public final double peak;
  /** Harvestable space, in any unit. */
  public final double space;
  /** Class of utilisation; -1 if it has none. */
  public final int utilisationClass;
  public final int[] servers;

  public Tenant(String name, int environment, double reimages, double peak, double space, int utilisationClass,
      int[] servers) {
    this.name = name;
    this.environment = environment;
    this.reimages = reimages;
    this.peak = peak;
    this.space = space;
    this.utilisationClass = utilisationClass;
    this.servers = servers;
  }
}
