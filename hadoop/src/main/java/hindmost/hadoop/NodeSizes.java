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
 * The whole size of each node. A shrunk node reports its remaining size, also to a restarted resource manager. Any
 * other report comes from a restarted node manager and gives the whole size. A file stores the sizes for the next
 * keeper, one line per node: "NODE WHOLE_MB WHOLE_CORES LAST_MB LAST_CORES PREVIOUS_MB PREVIOUS_CORES".
 */
final class NodeSizes {
  private static final class Size {
    final Resource whole;
    /** The last two sizes that the resource manager received: a report may be one round late. */
    final Resource last;
    final Resource previous;

    Size(Resource whole, Resource last, Resource previous) {
      this.whole = whole;
      this.last = last;
      this.previous = previous;
    }
  }

  private final Path file;
  private final Map<String, Size> sizes = new HashMap<>();

  /** Read the file. An unreadable file is an IOException, a missing one has no nodes. */
  NodeSizes(Path file) throws IOException {
    this.file = file;
    try {
      for (String line : Files.readAllLines(file)) {
        String[] fields = line.split(" ");
        sizes.put(fields[0], new Size(resource(fields, 1), resource(fields, 3), resource(fields, 5)));
      }
    } catch (NoSuchFileException missing) {
      sizes.clear();
    } catch (NumberFormatException | IndexOutOfBoundsException error) {
      throw new IOException(file + " is not a file of node sizes: delete it while no node is shrunk", error);
    }
  }

  private static Resource resource(String[] fields, int at) {
    return Resource.newInstance(Long.parseLong(fields[at]), Integer.parseInt(fields[at + 1]));
  }

  /** Return the whole size of a node with the reported size. */
  Resource whole(NodeId node, Resource reported) {
    Size known = sizes.get(node.toString());
    return known != null && (same(reported, known.last) || same(reported, known.previous)) ? known.whole : reported;
  }

  private static boolean same(Resource one, Resource other) {
    return one.getMemorySize() == other.getMemorySize() && one.getVirtualCores() == other.getVirtualCores();
  }

  /** Record the size that the resource manager is about to receive. */
  void set(NodeId node, Resource whole, Resource left) {
    Size known = sizes.get(node.toString());
    sizes.put(node.toString(), new Size(whole, left, known == null ? whole : known.last));
  }

  /** Write the file atomically, before the resource manager receives the sizes. */
  void write() throws IOException {
    StringBuilder text = new StringBuilder();
    sizes.forEach((node, size) -> {
      text.append(node);
      for (Resource part : new Resource[] {size.whole, size.last, size.previous}) {
        text.append(' ').append(part.getMemorySize()).append(' ').append(part.getVirtualCores());
      }
      text.append('\n');
    });
    Files.createDirectories(file.toAbsolutePath().getParent());
    Path temporary = file.resolveSibling(file.getFileName() + ".new");
    Files.writeString(temporary, text);
    Files.move(temporary, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }
}
