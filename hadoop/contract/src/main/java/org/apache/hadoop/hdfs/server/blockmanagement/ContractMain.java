package org.apache.hadoop.hdfs.server.blockmanagement;

import java.lang.management.ManagementFactory;
import java.util.List;
import javax.management.ObjectName;
import org.junit.runner.JUnitCore;
import org.junit.runner.Result;
import org.junit.runners.Parameterized;

/** Runs Hadoop's tests of its default placement policy on ours, which must agree where no tenant is known. */
public final class ContractMain {
  private static final Iterable<Object[]> OURS =
      List.<Object[]>of(new Object[] {"org.apache.hadoop.hdfs.server.blockmanagement.HarvestPlacementPolicy"});

  public static final class Choice extends TestReplicationPolicy {
    public Choice(String policy) {
      super(policy);
    }

    @Parameterized.Parameters public static Iterable<Object[]> data() {
      return OURS;
    }
  }

  public static final class Load extends TestReplicationPolicyConsiderLoad {
    public Load(String policy) {
      super(policy);
    }

    @Parameterized.Parameters public static Iterable<Object[]> data() {
      return OURS;
    }
  }

  public static final class SlowNodes extends TestReplicationPolicyExcludeSlowNodes {
    public SlowNodes(String policy) {
      super(policy);
    }

    @Parameterized.Parameters public static Iterable<Object[]> data() {
      return OURS;
    }
  }

  private ContractMain() {}

  public static void main(String[] arguments) throws Exception {
    Result result = JUnitCore.runClasses(Choice.class, Load.class, SlowNodes.class);
    result.getFailures().forEach(failure -> System.out.println(failure.getTestHeader() + ": " + failure.getTrace()));
    ObjectName metrics = new ObjectName("hindmost:type=Harvest");
    Object fallbacks = ManagementFactory.getPlatformMBeanServer().getAttribute(metrics, "Fallbacks");
    System.out.printf("contract: %d tests, %d failed; %s choices left to stock%n", result.getRunCount(),
        result.getFailureCount(), fallbacks);
    System.out.flush();
    // Fallbacks are counted only while a file of tenants is in force.
    Runtime.getRuntime().halt(result.wasSuccessful() && (Long) fallbacks > 0 ? 0 : 1);
  }
}
