import { Error as errorsOnly, logger, parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'

/** Draws a plot. */
export async function svg(spec: TopLevelSpec): Promise<string> {
  const view = new View(parse(compile(spec, { logger: logger(errorsOnly) }).spec), { renderer: 'none' })
  const text = await view.toSVG()
  view.finalize()
  return text
}
