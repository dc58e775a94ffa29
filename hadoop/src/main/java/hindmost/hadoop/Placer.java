package hindmost.hadoop;

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntPredicate;

/**
 * Algorithm 2: a server for the next replica of a block. It makes the same decisions as crates/harvest/src/place.rs,
 * which golden vectors verify.
 */
public final class Placer {
  /** Weights by which a tenant of a cell is drawn. */
  public enum Weigh { TENANTS, SPACE }

  /** Rules that a repair keeps: all, or all except columns. */
  public enum Repair { STRICT, ROW }

  /** A server, and the level to which the rules were relaxed for it. */
  public static final class Choice {
    public final int server;
    public final int level;

    Choice(int server, int level) {
      this.server = server;
      this.level = level;
    }
  }

  /** Rules are relaxed in this order: columns, rows, environments, tenants. */
  public static final int LEVELS = 5;
  private static final int TRIES = 8;

  private final List<Tenant> tenants;
  private final Grid grid;
  private final Weigh weigh;
  private final Repair repair;
  private final boolean soft;
  private final int[] tenantOf;
  private final double[][] sums = new double[Grid.CELLS][];

  public Placer(List<Tenant> tenants, Weigh weigh, Repair repair, boolean soft) {
    this.tenants = tenants;
    this.weigh = weigh;
    this.repair = repair;
    this.soft = soft;
    grid = new Grid(tenants);
    int servers = tenants.stream().flatMapToInt(tenant -> Arrays.stream(tenant.servers)).max().orElse(-1) + 1;
    tenantOf = new int[servers];
    Arrays.fill(tenantOf, -1);
    for (int number = 0; number < tenants.size(); number++) {
      for (int server : tenants.get(number).servers) {
        tenantOf[server] = number;
      }
    }
    for (int cell = 0; cell < Grid.CELLS; cell++) {
      double sum = 0;
      sums[cell] = new double[grid.tenantsIn[cell].length];
      for (int at = 0; at < sums[cell].length; at++) {
        sum += tenants.get(grid.tenantsIn[cell][at]).space;
        sums[cell][at] = sum;
      }
    }
  }

  /** Return the tenant of a server; -1 for an unknown server. */
  public int tenantOf(int server) {
    return server >= 0 && server < tenantOf.length ? tenantOf[server] : -1;
  }

  int cellOf(int server) {
    int tenant = tenantOf(server);
    return tenant < 0 ? -1 : grid.cellOf[tenant];
  }

  /** Choose a server for one more replica; null if none is left. */
  public Choice choose(int[] present, boolean isRepair, Sequence random, IntPredicate usable) {
    int first = isRepair && repair == Repair.ROW ? 1 : 0;
    int last = soft ? LEVELS : 3;
    for (int level = first; level < last; level++) {
      int server = chooseAtLevel(level, present, random, usable);
      if (server >= 0) {
        return new Choice(server, level);
      }
    }
    return null;
  }

  private int chooseAtLevel(int level, int[] present, Sequence random, IntPredicate usable) {
    int[] cells = openCells(level, present);
    if (cells.length == 0) {
      return -1;
    }
    for (int attempt = 0; attempt < TRIES; attempt++) {
      int cell = cells[random.below(cells.length)];
      int tenant = drawTenant(cell, random);
      int[] servers = tenants.get(tenant).servers;
      if (servers.length == 0) {
        continue;
      }
      int server = servers[random.below(servers.length)];
      if (allows(level, tenant, present) && !contains(present, server) && usable.test(server)) {
        return server;
      }
    }
    return tryAll(level, cells, present, random, usable);
  }

  private int[] openCells(int level, int[] present) {
    int[] rows = new int[3];
    int[] columns = new int[3];
    for (int server : present) {
      int cell = cellOf(server);
      if (cell >= 0) {
        rows[cell / 3]++;
        columns[cell % 3]++;
      }
    }
    int most = present.length / 3; // after every three replicas the picked rows and columns are open again
    int[] open = new int[Grid.CELLS];
    int n = 0;
    for (int cell = 0; cell < Grid.CELLS; cell++) {
      boolean row = level >= 2 || rows[cell / 3] <= most;
      boolean column = level >= 1 || columns[cell % 3] <= most;
      if (row && column && grid.tenantsIn[cell].length > 0) {
        open[n++] = cell;
      }
    }
    return Arrays.copyOf(open, n);
  }

  private int drawTenant(int cell, Sequence random) {
    int[] own = grid.tenantsIn[cell];
    if (weigh == Weigh.TENANTS) {
      return own[random.below(own.length)];
    }
    double[] sum = sums[cell];
    double at = random.unit() * sum[sum.length - 1];
    int low = 0;
    int high = sum.length;
    while (low < high) { // find the first sum above it
      int middle = (low + high) >>> 1;
      if (sum[middle] <= at) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return own[Math.min(low, own.length - 1)];
  }

  private boolean allows(int level, int tenant, int[] present) {
    for (int server : present) {
      int other = tenantOf(server);
      if (other < 0) {
        continue;
      }
      boolean differs = level <= 2 ? tenants.get(other).environment != tenants.get(tenant).environment
          : level > 3 || other != tenant;
      if (!differs) {
        return false;
      }
    }
    return true;
  }

  private int tryAll(int level, int[] cells, int[] present, Sequence random, IntPredicate usable) {
    int[] all = Arrays.stream(cells).flatMap(cell -> Arrays.stream(grid.tenantsIn[cell])).toArray();
    int firstTenant = random.below(all.length);
    long draw = random.word();
    for (int at = 0; at < all.length; at++) {
      int tenant = all[(firstTenant + at) % all.length];
      if (!allows(level, tenant, present)) {
        continue;
      }
      int[] servers = tenants.get(tenant).servers;
      int firstServer = Sequence.below(draw, servers.length);
      for (int next = 0; next < servers.length; next++) {
        int server = servers[(firstServer + next) % servers.length];
        if (!contains(present, server) && usable.test(server)) {
          return server;
        }
      }
    }
    return -1;
  }

  /** Return the lowest level whose rules all these replicas satisfy, in any order. */
  public int levelOf(int[] servers) {
    int[] known = Arrays.stream(servers).filter(server -> tenantOf(server) >= 0).toArray();
    int most = (servers.length + 2) / 3;
    int[] rows = new int[3];
    int[] columns = new int[3];
    int level = 0;
    for (int server : known) {
      rows[cellOf(server) / 3]++;
      columns[cellOf(server) % 3]++;
    }
    if (Arrays.stream(rows).max().getAsInt() > most) {
      level = 2;
    } else if (Arrays.stream(columns).max().getAsInt() > most) {
      level = 1;
    }
    for (int at = 0; at < known.length; at++) {
      while (level < LEVELS - 1 && !allows(level, tenantOf(known[at]), Arrays.copyOf(known, at))) {
        level++;
      }
    }
    return level;
  }

  /** Count the environments of some servers; each unknown server counts as one. */
  public int environments(int[] servers) {
    BitSet known = new BitSet();
    Set<Integer> unknown = new HashSet<>();
    for (int server : servers) {
      int tenant = tenantOf(server);
      if (tenant < 0) {
        unknown.add(server);
      } else {
        known.set(tenants.get(tenant).environment);
      }
    }
    return known.cardinality() + unknown.size();
  }

  private static boolean contains(int[] all, int one) {
    for (int each : all) {
      if (each == one) {
        return true;
      }
    }
    return false;
  }
}
