/**
 * File systems by the number that statfs(2) gives on Linux (linux/magic.h, and statfs(2)'s own list). Elsewhere the numbers mean other
 * things, so there nothing is found.
 */
type Kinds = ReadonlySet<number>;

const onLinux = (...kinds: number[]): Kinds => new Set(process.platform === 'linux' ? kinds : []);

/** What lies on another machine, or behind a program: a sync may answer before anything is durable, and a lock may hold nobody off. */
export const networkKinds: Kinds = onLinux(
  0x6969, // NFS
  0x517b, // SMB
  0xfe534d42, // SMB 2
  0xff534d42, // CIFS
  0x01021997, // 9p
  0x5346414f, // AFS
  0x00c36400, // Ceph
  0x0bd00bd0, // Lustre
  0x73757245, // Coda
  0x786f4256, // VirtualBox shared folders
  0x65735546, // FUSE: sshfs and its like, and the shared folders of Docker Desktop
  0x47504653, // GPFS
);

/** What is gone when the machine stops. */
export const memoryKinds: Kinds = onLinux(
  0x01021994, // tmpfs
  0x858458f6, // ramfs
);
