import {
  type ArgumentsHost,
  BadRequestException,
  Catch,
  type ExceptionFilter,
  HttpException,
} from '@nestjs/common'
import type { Request, Response } from 'express'
import { envelope, MESSAGES } from '../messages.js'

@Catch(HttpException)
export class EnvelopeFilter implements ExceptionFilter {
  catch(exception: HttpException, host: ArgumentsHost): void {
    const http = host.switchToHttp()
    const status = exception.getStatus()
    const message =
      exception instanceof BadRequestException ? refusal(http.getRequest<Request>().path) : exception.message
    http
      .getResponse<Response>()
      .status(status)
      .json(envelope(status, message, null))
  }
}

function refusal(path: string): string {
  return path === '/token' ? MESSAGES.invalidPayload : MESSAGES.invalidInput
}
