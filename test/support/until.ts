import { setTimeout } from 'node:timers/promises'

/** What is asked again and again has to come about within so many milliseconds: many times what it takes. */
const PATIENCE = 120_000

/**
 * Asks again and again for something.
 * @returns it, when it is neither false nor undefined.
 * @throws Error with `what`, if it does not come about.
 */
export async function until<Result>(
  what: string | (() => string),
  find: () => Promise<Result> | Result,
  patience = PATIENCE,
): Promise<Exclude<Result, false | undefined>> {
  const end = Date.now() + patience
  for (;;) {
    const found = await find()
    if (found !== false && found !== undefined) return found as Exclude<Result, false | undefined>
    if (Date.now() > end)
      throw new Error(`not within ${patience} ms: ${typeof what === 'string' ? what : what()}`)
    await setTimeout(10)
  }
}
