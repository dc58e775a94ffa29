package hindmost.hadoop;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Nine cells of tenants with equal space: three columns by reimages, three rows by peak utilisation. The same as
 * grid.rs.
 */
final class Grid {
  static final int CELLS = 9;
  /** The cell of each tenant: 3 x row + column. */
  final int[] cellOf;
  final int[][] tenantsIn = new int[CELLS][];

  Grid(List<Tenant> tenants) {
    cellOf = new int[tenants.size()];
    List<Integer> all = new ArrayList<>();
    for (int at = 0; at < tenants.size(); at++) {
      all.add(at);
    }
    List<List<Integer>> columns = thirds(tenants, all, tenant -> tenant.reimages);
    for (int column = 0; column < 3; column++) {
      List<List<Integer>> rows = thirds(tenants, columns.get(column), tenant -> tenant.peak);
      for (int row = 0; row < 3; row++) {
        for (int tenant : rows.get(row)) {
          cellOf[tenant] = 3 * row + column;
        }
      }
    }
    for (int cell = 0; cell < CELLS; cell++) {
      int own = cell;
      tenantsIn[cell] = all.stream().mapToInt(at -> at).filter(at -> cellOf[at] == own).toArray();
    }
  }

  /**
   * Split tenants into three parts of equal space. A tenant belongs to the part that contains the middle of its space.
   */
  private static List<List<Integer>> thirds(List<Tenant> tenants, List<Integer> all, ToDoubleFunction<Tenant> key) {
    List<Integer> sorted = new ArrayList<>(all);
    sorted.sort(Comparator.comparingDouble(at -> key.applyAsDouble(tenants.get(at))));
    double total = 0;
    for (int at : sorted) {
      total += tenants.get(at).space;
    }
    List<List<Integer>> parts = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    double filled = 0;
    for (int at : sorted) {
      double space = tenants.get(at).space;
      double middle = total > 0 ? (filled + space / 2) * 3 / total : 0;
      parts.get(Math.min((int) middle, 2)).add(at);
      filled += space;
    }
    return parts;
  }
}
