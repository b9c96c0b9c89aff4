// NestJS with TypeORM, class-validator and @nestjs/jwt, on its default platform, Express; built by the TypeScript
// compiler, as `nest build` does.
import 'reflect-metadata'
import { ValidationPipe } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { readSettings } from '../settings.js'
import { AppModule } from './app.module.js'
import { EnvelopeFilter } from './envelope.filter.js'

const { port, host } = readSettings(process.env)
const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
app.useGlobalPipes(new ValidationPipe({ whitelist: true }))
app.useGlobalFilters(new EnvelopeFilter())
await app.listen(port, host)
