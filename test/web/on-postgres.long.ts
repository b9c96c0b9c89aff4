import { runOn } from './on-engine.ts'

await runOn('postgres')
