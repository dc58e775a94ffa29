package hindmost.hadoop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.util.ServicePlugin;

/** Receives reports of busy data nodes in a name node: dfs.namenode.plugins. */
public final class NameNodePlugin implements ServicePlugin, Configurable {
  private Configuration conf;

  @Override public void start(Object service) {
    Configuration effective = conf != null ? conf : new Configuration();
    try {
      Metrics.get();
      byte[] key = BusyBoard.key(effective);
      if (key.length == 0) {
        NameNode.LOG.warn("hindmost: {} is not set: only reports from this host are accepted", Keys.BOARD_SECRET);
      }
      InetAddress address = service instanceof NameNode ? ((NameNode) service).getNameNodeAddress().getAddress() : null;
      int port = BusyBoard.get().listen(address, effective.getInt(Keys.BOARD_PORT, Keys.BOARD_PORT_DEFAULT),
          effective.getInt(Keys.BOARD_STALE, Keys.BOARD_STALE_DEFAULT), key);
      NameNode.LOG.info("hindmost: reports of busy data nodes are received at port {}", port);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override public void stop() {
    BusyBoard.get().close();
  }

  @Override public void close() {
    stop();
  }

  @Override public void setConf(Configuration conf) {
    this.conf = conf;
  }

  @Override public Configuration getConf() {
    return conf;
  }
}
