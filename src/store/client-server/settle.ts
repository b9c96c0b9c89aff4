import type { ErrorMeaning } from './errors.ts'

type Value = string | number | bigint

/**
 * The settings that the service relies on, by the names of the server's variables. Of several values any will do, and
 * the first one is set.
 */
export type Settings = Readonly<Record<string, Value | readonly Value[]>>

export type Setting = readonly [name: string, value: Value]

interface Variables {
  /** The values of a connection, by name, without variables that the server does not know. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Sets all of them, or none. */
  set(settings: readonly Setting[]): Promise<unknown>
  meaningOf(error: unknown): ErrorMeaning
  /** What to do about a setting that was not made, for messages. */
  advice?(setting: Setting): string
}

/**
 * Gives a new connection the settings that the service relies on, whatever the configuration of the server, the
 * database or the account says, and reads them back.
 * @throws an error that names a variable that cannot be set, and its value.
 */
export async function applySettings(
  wanted: Settings,
  { read, set, meaningOf, advice }: Variables,
): Promise<void> {
  const differing = async () => {
    const found = await read(Object.keys(wanted))
    return Object.entries(wanted).flatMap(([name, value]) => {
      const [first, ...others] = [value].flat() as [Value, ...Value[]]
      const is = found.get(name)
      const suits = is === undefined || [first, ...others].some((value) => String(value) === is)
      return suits ? [] : [{ setting: [name, first] as const, is }]
    })
  }
  const settings = (await differing()).map(({ setting }) => setting)
  if (settings.length === 0) return
  const causes = new Map<string, unknown>()
  try {
    await set(settings)
  } catch (error) {
    if (meaningOf(error).outcome === 'lost') throw error
    // One by one, to find out which of them fails.
    for (const setting of settings) await set([setting]).catch((cause) => causes.set(setting[0], cause))
  }
  for (const { setting, is } of await differing()) {
    const [name, value] = setting
    const message = `${name} is ${is} and has to be ${value}${advice?.(setting) ?? ''}`
    throw new Error(message, { cause: causes.get(name) })
  }
}
