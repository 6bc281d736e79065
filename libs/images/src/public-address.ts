import { BlockList, isIPv4, isIPv6 } from 'node:net';

/**
 * IPv4 addresses that are not somebody's on the Internet, or that a cloud answers with its own secrets.
 * Source: IANA IPv4 Special-Purpose Address Registry; 224.0.0.0/4 and 240.0.0.0/4 by RFC 1112.
 */
const SPECIAL_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by carriers (CGNAT); metadata of Alibaba Cloud
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // Azure's host, reachable from every virtual machine
  ['169.254.0.0', 16], // link-local; metadata of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments; metadata of Oracle Cloud
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and the broadcast address
];

/** What has been given out of IPv6: everything else (mapped IPv4, NAT64, local, multicast) is no public address. */
const GLOBAL_IPV6 = ['2000::', 3] as const;

/** Within it, what is not somebody's, or leads to an IPv4 address. Source: IANA IPv6 Special-Purpose Address Registry. */
const SPECIAL_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23], // protocol assignments, Teredo among them
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4
  ['3fff::', 20], // documentation
  ['5f00::', 16], // segment routing
];

const special4 = listOf('ipv4', SPECIAL_IPV4);
const global6 = listOf('ipv6', [GLOBAL_IPV6]);
const special6 = listOf('ipv6', SPECIAL_IPV6);

/** Whether an address, as DNS and `URL` write it, is one of the Internet's own. False for what is no address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special4.check(address, 'ipv4');
  // An address with a zone belongs to a link.
  if (!isIPv6(address) || address.includes('%')) return false;
  return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6');
}

function listOf(family: 'ipv4' | 'ipv6', networks: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of networks) list.addSubnet(network, prefix, family);
  return list;
}
