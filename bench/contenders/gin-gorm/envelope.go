package main

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/jinzhu/gorm"
)

type envelope struct {
	Status  int         `json:"status"`
	Message string      `json:"message"`
	Data    interface{} `json:"data"`
}

func send(c *gin.Context, status int, message string, data interface{}) {
	c.JSON(status, envelope{status, message, data})
}

// fail answers an error of the database.
func fail(c *gin.Context, err error) {
	if gorm.IsRecordNotFoundError(err) {
		send(c, http.StatusNotFound, "Book not found", nil)
		return
	}
	send(c, http.StatusInternalServerError, err.Error(), nil)
}
