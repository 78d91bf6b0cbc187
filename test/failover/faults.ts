import type { PatroniCluster } from './patroni-cluster.ts';
import type { Site } from './site.ts';

/** A way to lose the primary. */
export interface Fault {
  readonly name: string;
  readonly description: string;
  /** `node` is the primary.  */
  readonly begin: (cluster: PatroniCluster, node: number, site: Site) => void;
  /** Lets the node return, after another one has taken over and serves taps. */
  readonly heal: (cluster: PatroniCluster, node: number) => void;
}

const nothing = () => {};

export const FAULTS: readonly Fault[] = [
  {
    name: 'killed',
    description: 'kill -9 of Postgres on the primary',
    begin: (cluster, node) => cluster.killPostgres(node),
    heal: nothing, // its Patroni lives
  },
  {
    name: 'host',
    description: 'kill -9 of Postgres, Patroni and etcd on the primary, as at a power loss',
    begin: (cluster, node) => cluster.killHost(node),
    heal: (cluster, node) => cluster.startNode(node),
  },
  {
    name: 'frozen',
    description: 'SIGSTOP of Postgres, Patroni and etcd on the primary; continued later',
    begin: (cluster, node) => cluster.freeze(node),
    heal: (cluster, node) => cluster.thaw(node),
  },
  {
    name: 'cut',
    description: 'the network of the primary drops all packets in both directions; joined later',
    begin: (cluster, node) => cluster.cut(node, 'both'),
    heal: (cluster, node) => cluster.join(node),
  },
  {
    name: 'cut-to',
    description: 'packets to the primary are dropped, those from it pass; joined later',
    begin: (cluster, node) => cluster.cut(node, 'toNode'),
    heal: (cluster, node) => cluster.join(node),
  },
  {
    name: 'cut-from',
    description: 'packets from the primary are dropped, those to it pass; joined later',
    begin: (cluster, node) => cluster.cut(node, 'fromNode'),
    heal: (cluster, node) => cluster.join(node),
  },
  {
    name: 'stopped',
    description: 'systemctl stop patroni on the primary',
    begin: (cluster, node) => cluster.stopPatroni(node),
    heal: (cluster, node) => cluster.startNode(node),
  },
  {
    name: 'switchover',
    description: 'patronictl switchover',
    begin: (cluster, node) => void cluster.switchOver(node).catch((error) => console.error(error)),
    heal: nothing,
  },
  {
    name: 'gateways',
    description: 'as "killed", and kill -9 of every gateway at the same time',
    begin: (cluster, node, site) => {
      cluster.killPostgres(node);
      site.killGateways();
    },
    heal: nothing,
  },
];
