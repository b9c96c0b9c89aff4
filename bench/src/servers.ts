import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseServer } from '../../test/support/database-server.ts'
import { findMariadb, startMariadb } from '../../test/support/mariadb-server.ts'
import { startPostgres } from '../../test/support/postgres-server.ts'
import type { StoreKind } from './contenders.ts'
import type { Servers } from './stores.ts'

/**
 * Starts the database servers that are needed, with their own defaults, which are durable. One that this machine
 * does not have is left out, so that its contenders fail with a reason. Their data is in the system's directory for
 * temporary files.
 */
export async function startServers(kinds: ReadonlySet<StoreKind>): Promise<Servers> {
  const postgres = kinds.has('postgres') ? await startPostgres() : undefined
  const mysql = kinds.has('mysql') && findMariadb() ? await startMariadb() : undefined
  return {
    ...(postgres && { postgres: { server: postgres, pid: readPid(postgres, 'data/postmaster.pid') } }),
    ...(mysql && { mysql: { server: mysql, pid: readPid(mysql, 'mysql.pid') } }),
  }
}

export async function removeServers(servers: Servers): Promise<void> {
  for (const { server } of Object.values(servers)) await server.remove()
}

/** What the servers call themselves, by the kind of store. */
export async function serverVersions(servers: Servers): Promise<Partial<Record<StoreKind, string>>> {
  const version = async (kind: 'postgres' | 'mysql', name: string) => {
    const [row] = (await servers[kind]?.server.query('SELECT version() AS version')) ?? []
    const [, number] = /(\d[\d.]+)/.exec(String(row?.version)) ?? []
    return row && { [kind]: `${name} ${number}` }
  }
  return { ...(await version('postgres', 'PostgreSQL')), ...(await version('mysql', 'MariaDB')) }
}

function readPid({ directory }: DatabaseServer, file: string): number {
  return Number.parseInt(readFileSync(join(directory, file), 'utf8'), 10)
}
