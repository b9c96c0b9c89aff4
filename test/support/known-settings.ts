import { readConfig } from '../../src/config.ts'

/** The names of all settings: those that are asked for when none is set. */
export function knownSettings(): string[] {
  const names: string[] = []
  readConfig(new Proxy({}, { get: (_, name) => void names.push(String(name)) }))
  return [...new Set(names)].sort()
}
