package hindmost.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * What each node has as a whole. A node that was shrunk reports what is left of it, also to a resource manager that
 * starts anew; any other report is of a node manager that started anew, and is its whole. A file keeps this for the
 * next keeper: a line a node, "NODE WHOLE_MB WHOLE_CORES TOLD_MB TOLD_CORES BEFORE_MB BEFORE_CORES".
 */
final class NodeSizes {
  private static final class Size {
    final Resource whole;
    /** What the resource manager was told last, and before: a report may be one round late. */
    final Resource told;
    final Resource before;

    Size(Resource whole, Resource told, Resource before) {
      this.whole = whole;
      this.told = told;
      this.before = before;
    }
  }

  private final Path file;
  private final Map<String, Size> sizes = new HashMap<>();

  /** Reads the file; one that cannot be read is an IOException, one that is not there has no nodes. */
  NodeSizes(Path file) throws IOException {
    this.file = file;
    try {
      for (String line : Files.readAllLines(file)) {
        String[] of = line.split(" ");
        sizes.put(of[0], new Size(resource(of, 1), resource(of, 3), resource(of, 5)));
      }
    } catch (NoSuchFileException none) {
      sizes.clear();
    } catch (NumberFormatException | IndexOutOfBoundsException error) {
      throw new IOException(file + " is not a file of node sizes: delete it while no node is shrunk", error);
    }
  }

  private static Resource resource(String[] of, int at) {
    return Resource.newInstance(Long.parseLong(of[at]), Integer.parseInt(of[at + 1]));
  }

  /** What a node has that reports so much. */
  Resource whole(NodeId node, Resource reported) {
    Size known = sizes.get(node.toString());
    return known != null && (same(reported, known.told) || same(reported, known.before)) ? known.whole : reported;
  }

  private static boolean same(Resource one, Resource other) {
    return one.getMemorySize() == other.getMemorySize() && one.getVirtualCores() == other.getVirtualCores();
  }

  /** Notes what the resource manager is about to be told. */
  void tell(NodeId node, Resource whole, Resource left) {
    Size known = sizes.get(node.toString());
    sizes.put(node.toString(), new Size(whole, left, known == null ? whole : known.told));
  }

  /** Writes the file at once: before the resource manager is told. */
  void write() throws IOException {
    StringBuilder text = new StringBuilder();
    sizes.forEach((node, size) -> {
      text.append(node);
      for (Resource one : new Resource[] {size.whole, size.told, size.before}) {
        text.append(' ').append(one.getMemorySize()).append(' ').append(one.getVirtualCores());
      }
      text.append('\n');
    });
    Files.createDirectories(file.toAbsolutePath().getParent());
    Path beside = file.resolveSibling(file.getFileName() + ".new");
    Files.writeString(beside, text);
    Files.move(beside, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }
}
