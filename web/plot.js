import uPlot from 'uplot'

/**
 * @typedef {{ accent: string, text: string, line: string }} Colours
 */

// Most visits do not need these either.
await Promise.all(
  ['uplot/dist/uPlot.min.css', 'charts.css'].map((path) => {
    const sheet = document.createElement('link')
    sheet.rel = 'stylesheet'
    sheet.href = new URL(path, import.meta.url).href
    document.head.append(sheet)
    return new Promise((resolve, reject) => {
      sheet.onload = resolve
      sheet.onerror = () => reject(new TypeError(`${path} cannot be loaded`))
    })
  }),
)

/** Sizes in pixels that style.css has too, so that the buttons lie on the bars. */
const [LABELS, PADDING, ROW] = [26, 6, 26]
/** How wide the place of a decade is. */
const [NARROWEST, WIDEST] = [44, 90]
const HEIGHT = 190
/** What is left for the numbers above the bars. */
const ABOVE = 20
/** How much beside the bars of authors is left for their books in numbers. */
const NUMBERS = 92

const FONT = '12px system-ui, sans-serif'
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact' })
/** Distances between the lines for numbers of books: whole ones. */
const STEPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

/**
 * Draws upright bars, one for each label.
 * @param {HTMLElement} host @param {readonly string[]} labels @param {readonly number[]} counts
 * @param {number} available how wide it should be, if that is not too narrow or too wide for them.
 * @returns how wide the part with the bars is.
 */
export function drawColumns(host, labels, counts, available) {
  const count = labels.length
  const isWide = count * NARROWEST + 2 * PADDING > available
  const space = available - PADDING
  // Of bars that are scrolled, as many as are in sight are in sight as a whole.
  const width = isWide
    ? Math.round((count * space) / Math.floor(space / NARROWEST)) + 2 * PADDING
    : Math.min(available, count * WIDEST + 2 * PADDING)
  const colours = coloursOf(host)
  draw(host, counts, {
    width,
    height: HEIGHT,
    padding: [ABOVE, PADDING, 0, PADDING],
    scales: { x: places(count), y: { range: (_, _min, most) => [0, most] } },
    axes: [{ ...named(labels, colours), size: LABELS, gap: 2 }, { show: false }],
    hooks: { draw: [(plot) => writeCounts(plot, counts, colours)] },
    series: [{}, bar(colours)],
  })
  return width - 2 * PADDING
}

/**
 * Draws lying bars from the top, with space for names before them and for numbers behind them.
 * @param {HTMLElement} host @param {readonly number[]} counts @param {number} width
 * @param {number} names how wide the space for the names is.
 */
export function drawRows(host, counts, width, names) {
  const colours = coloursOf(host)
  draw(host, counts, {
    width,
    height: counts.length * ROW + LABELS,
    padding: [0, NUMBERS, 0, names],
    scales: {
      x: { ...places(counts.length), ori: 1, dir: -1 },
      y: { ori: 0, range: (_, _min, most) => [0, most] },
    },
    axes: [{ show: false }, { ...numbered(colours), side: 2, size: LABELS, gap: 2, space: 60 }],
    series: [{}, bar(colours)],
  })
}

/** Above each bar, because an axis would go out of sight with many decades. @param {uPlot} plot @param {readonly number[]} counts @param {Colours} colours */
function writeCounts(plot, counts, { text }) {
  const { ctx } = plot
  ctx.save()
  ctx.fillStyle = text
  ctx.font = FONT.replace('12px', `${12 * devicePixelRatio}px`)
  ctx.textAlign = 'center'
  ctx.textBaseline = 'bottom'
  for (const [place, count] of counts.entries())
    ctx.fillText(
      COMPACT.format(count),
      plot.valToPos(place, 'x', true),
      plot.valToPos(count, 'y', true) - 3 * devicePixelRatio,
    )
  ctx.restore()
}

/** @param {HTMLElement} host @param {readonly number[]} counts @param {uPlot.Options} options */
function draw(host, counts, options) {
  host.replaceChildren()
  const data = [counts.map((_, place) => place), [...counts]]
  new uPlot(
    { ...options, legend: { show: false }, cursor: { show: false } },
    /** @type {uPlot.AlignedData} */ (data),
    host,
  )
}

/** A scale on which every bar has the same space. @param {number} count @returns {uPlot.Scale} */
const places = (count) => ({ time: false, range: [-0.5, count - 0.5] })

/** @param {readonly string[]} labels @param {Colours} colours @returns {uPlot.Axis} */
const named = (labels, { text }) => ({
  stroke: text,
  font: FONT,
  grid: { show: false },
  ticks: { show: false },
  splits: labels.map((_, place) => place),
  values: [...labels],
})

/** @param {Colours} colours @returns {uPlot.Axis} */
const numbered = ({ text, line }) => ({
  stroke: text,
  font: FONT,
  grid: { stroke: line, width: 1 },
  ticks: { show: false },
  incrs: STEPS,
  values: (_, splits) => splits.map((split) => COMPACT.format(split)),
})

/** @param {Colours} colours @returns {uPlot.Series} */
const bar = ({ accent }) => ({
  fill: accent,
  width: 0,
  points: { show: false },
  ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.7, 48] }) }),
})

/** A canvas knows nothing of style sheets: they say it by properties that have no other use there. @param {HTMLElement} host @returns {Colours} */
function coloursOf(host) {
  const { color, caretColor, borderTopColor } = getComputedStyle(host)
  return { accent: color, text: caretColor, line: borderTopColor }
}
