import type { ErrorMeaning } from './errors.ts'

type Value = string | number | bigint

/**
 * The settings that the service relies on, by the names of the server's variables. Of several values each will do, and
 * the first is what to set.
 */
export type Settings = Readonly<Record<string, Value | readonly Value[]>>

/** What is to be set: a variable, and its value. */
export type Setting = readonly [name: string, value: Value]

/** How an engine reads and sets the variables of a connection. */
interface Variables {
  /** The values that a connection has, by name, without those that the server does not know. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Sets all of them, or none. */
  set(settings: readonly Setting[]): Promise<unknown>
  meaningOf(error: unknown): ErrorMeaning
  /** What to do about one that was not set, for messages. */
  advice?(setting: Setting): string
}

/**
 * Gives a new connection the settings that the service relies on, whatever the configuration of the server, of the
 * database or of the account has made of them, and reads them back.
 * @throws an error that names the variable that cannot be set, and its value.
 */
export async function settle(wanted: Settings, { read, set, meaningOf, advice }: Variables): Promise<void> {
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
    // One by one, to find out which it is.
    for (const setting of settings) await set([setting]).catch((cause) => causes.set(setting[0], cause))
  }
  for (const { setting, is } of await differing()) {
    const [name, value] = setting
    const message = `${name} is ${is} and has to be ${value}${advice?.(setting) ?? ''}`
    throw new Error(message, { cause: causes.get(name) })
  }
}
